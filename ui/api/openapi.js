// The server's own description of a request: ranges and texts of what can be set.

import { client } from "./client.js";

/** @typedef {{minimum?: number, above?: number, maximum?: number, maxItems?: number, type: string, description: string, values: string[]}} FieldRange */

/**
 * Returns what the document says of each field of a chat completion request, by name.
 * @returns {Promise<Map<string, FieldRange>>}
 */
export async function readFields() {
  const document = await client.get("/v1/openapi.json");
  const schemas = document.components.schemas;
  const resolve = (/** @type {any} */ schema) => (schema.$ref ? schemas[schema.$ref.split("/").pop()] : schema);
  const body = document.paths["/v1/chat/completions"].post.requestBody.content["application/json"].schema;
  const fields = new Map();
  for (const [name, declared] of Object.entries(/** @type {Record<string, any>} */ (resolve(body).properties))) {
    if (declared["x-ignis"] !== "honoured") continue;
    const option = declared.anyOf?.find((/** @type {any} */ each) => each.type !== "null") ?? declared;
    const { minimum, exclusiveMinimum: above, maximum, type = "string", enum: values = [] } = option;
    fields.set(name, { minimum, above, maximum, type, values, maxItems: declared.anyOf?.find((/** @type {any} */ each) => each.maxItems)?.maxItems, description: declared.description });
  }
  return fields;
}
