"""A long chat of prose, lists, tables, code and formulas, for the browser's own store."""

PART = """## Part {n}

The lighthouse number {n} stood alone, and its keeper wrote *each* night of the ships that passed, of the storm that
never came, and of the `lantern` that he cleaned. It was a **long** winter, and the letters were few.

- the first thing that he saw in the morning
- the second, which was the [harbour](https://example.org/{n})
- and the third

| ship | knots | lights |
|---|--:|---|
| Gull {n} | {n} | two |
| Tide | 12 | one |

```python
def lights(ship, night={n}):
    return [lamp for lamp in ship.lamps if lamp.is_lit(night)]
```

The distance was $d_{{{n}}} = \\sqrt{{x^2 + y^2}}$, as he knew.

"""

# Puts it into the store as so many answers, each to a question of its own.
KEEP = """async ([text, count]) => {
  const conversations = await import("/ui/store/conversations.js");
  const turns = await import("/ui/store/turns.js");
  const times = { sent: 1, thought: null, first: 1, text: 1, last: 2 };
  const base = {
    conversation: "long", reasoning: "", tools: [], state: "DONE", request: null, model: "m", seed: 1, finish: "stop",
    failure: null, usage: null, timings: null, times, isEdited: false, created: 1, v: 1,
  };
  let parent = null;
  const length = Math.ceil(text.length / count);
  for (let number = 0; number < count; number += 1) {
    const own = text.slice(number * length, (number + 1) * length);
    await turns.save({ ...base, id: `q${number}`, parent, role: "user", text: "Tell it." });
    await turns.save({ ...base, id: `a${number}`, parent: `q${number}`, role: "assistant", text: own });
    parent = `a${number}`;
  }
  const own = { id: "long", title: "Long", head: parent, updated: Date.now() };
  await conversations.save({ settings: {}, created: 1, preview: "", v: 1, ...own });
}"""


def long_text(length: int) -> str:
    """At least so many characters."""
    parts: list[str] = []
    size = 0
    while size < length:
        parts.append(PART.format(n=len(parts)))
        size += len(parts[-1])
    return "".join(parts)
