"""Which leaf this process runs on: the card's where one can be used, else the CPU's. Says what it took, and why."""

from ignis import bundle
from ignis.config_fields import DeviceKind
from ignis.engine.leaf import NativeLeaf
from ignis.errors import LoadPlanError, ModelLoadError
from ignis.log import Log

_LIBRARIES = {DeviceKind.CUDA: "libignis_cuda.so", DeviceKind.CPU: "libignis_cpu.so"}


def open_leaf(wanted: DeviceKind, log: Log) -> NativeLeaf:
    """Opens the leaf of the device that the operator wants.

    Raises:
        LoadPlanError: the leaf that is wanted cannot be used, or none can.
    """
    try:
        if wanted is not DeviceKind.AUTO:
            return _opened(wanted, log, None)
        try:
            return _opened(DeviceKind.CUDA, log, None)
        except ModelLoadError as no_card:
            return _opened(DeviceKind.CPU, log, no_card.message)
    except ModelLoadError as error:
        hint = "; --device auto takes the processor where no card can be used" if wanted is DeviceKind.CUDA else ""
        raise LoadPlanError(f"--device {wanted}: {error.message}{hint}", "device.kind") from error


def _opened(kind: DeviceKind, log: Log, reason: str | None) -> NativeLeaf:
    path = bundle.library(_LIBRARIES[kind])
    if not path.exists():
        hint = "; build.py makes one where there are a card and CUDA 13's nvcc" if kind is DeviceKind.CUDA else ""
        raise ModelLoadError(f"this build has no {kind.upper()} leaf{hint}")
    leaf = NativeLeaf(path)
    device = leaf.probe()
    if device.has_own_memory != (kind is DeviceKind.CUDA):
        raise ModelLoadError(f"{path.name} is the leaf of another kind of device: {device.name} ({device.isa})")
    log.emit(
        "ignis.runtime.device",
        kind=kind.value,
        device=device.name,
        isa=device.isa,
        cores=device.num_cores,
        total_bytes=device.memory_bytes,
        free_bytes=device.free_bytes,
        reason=reason,
    )
    return leaf
