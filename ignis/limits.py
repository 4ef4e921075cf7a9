"""How much one request may hold. Each number stands here once; spec/reference/limits.md is made of this file.

What has a field of the configuration (the body's bytes, the context, the connections) is declared there instead.
"""

MAX_TARGET_BYTES = 8 << 10
"""Path and query of a request: 414. nginx and Apache take as much."""
MAX_HEADER_FIELDS = 128
"""Fields of a request's header: 431. Apache takes 100, nginx counts bytes only."""
MAX_HEADER_BYTES = 32 << 10
"""Request line and header together: 431."""
MAX_DEPTH = 128
"""Levels of objects and arrays in a tool's `parameters`, a call's `arguments`, a schema, a template variable."""
MAX_IGNORED = 32
"""Different unknown fields in one body."""
MAX_MESSAGES = 10_000
"""`messages`; items of an `input`."""
MAX_PARTS = 10_000
"""Parts of one message's `content`."""
MAX_TOOLS = 1024
"""`tools`, and calls in one message of the history."""
MAX_TOOL_NAME_CHARACTERS = 256
"""Of a function's name."""
MAX_SCHEMA_BYTES = 256 << 10
"""JSON of a tool's `parameters`, or of a schema that the answer is held to."""
MAX_HELD_BYTES = 1 << 20
"""JSON of the schemas of all tools to which calls are held."""
MAX_SCHEMA_PROPERTIES = 1024
"""Properties of a schema that the answer is held to, over all its objects."""
MAX_SCHEMA_PARTS = 4096
"""Schemas inside such a schema, and values in its `enum` and `const`, with what is in them."""
MAX_SCHEMA_COST = 50_000
"""Of such a schema's numbers: the squares of the digits of their bounds, and their `multipleOf`, added up."""
MAX_GRAMMAR_CHARACTERS = 64 << 10
"""Of a grammar that the answer is held to."""
MAX_GRAMMAR_PARTS = 4096
"""Lines, brackets and operators of such a grammar."""
MAX_REGEX_CHARACTERS = 8192
"""Of an expression that the answer is held to."""
MAX_LISTED_CHOICES = 1024
"""Texts of which the answer has to be one."""
MAX_LISTED_CHARACTERS = 64 << 10
"""All of them together."""
MAX_FORCED_CALLS = 16
"""Calls of one answer where `tool_choice` forces some."""
MAX_STOPS = 16
"""`stop`, `stop_sequences`."""
MAX_STOP_CHARACTERS = 4096
"""Of one stop string."""
MAX_LOGIT_BIAS = 1024
"""Entries of `logit_bias`."""
MAX_TOP_LOGPROBS = 20
"""`top_logprobs`; `logprobs` of a text completion."""
MAX_METADATA = 16
"""Entries of a response's `metadata`."""
MAX_CHOICES = 8
"""`n`."""
MAX_PROMPTS = 256
"""Prompts in the list of a text completion."""
MAX_SCORED_TOKENS = 16_384
"""Of a prompt whose own log probabilities are asked for: `echo` with `logprobs`."""
MAX_TOKEN_IDS = 4_194_304
"""`token_ids`, and a prompt of ids."""
MAX_STREAMS = 32
"""Named streams of one WebSocket."""
MAX_STREAM_ID_CHARACTERS = 256
"""Of a stream's name."""
MAX_ACTIVE_RESPONSES = 16
"""Responses of one WebSocket that are under way at once; more wait in order."""
MAX_WAITING_RESPONSES = 256
"""Responses of one WebSocket that wait for others of their stream or of the connection."""
