"""What config.json says of quantised weights: FP8 in blocks of 128 x 128 is read, other schemes are refused by name."""

from ignis.models.base import SCALE_BLOCK
from ignis.models.fields import Fields
from ignis.models.files import shown

QUANTIZATION = "quantization_config"
# MLX's own, beside or instead of the other.
MLX_QUANTIZATION = "quantization"
FP8 = "fp8"
SUPPORTED = f"{FP8} (E4M3 with weight_block_size [{SCALE_BLOCK}, {SCALE_BLOCK}]) is supported, and quantised GGUF files"


def is_fp8(fields: Fields) -> bool:
    """Whether weights may be FP8: which of them are, the tensors say, so modules_to_not_convert is not looked at.

    Raises:
        ModelFileError: the file declares another scheme, or FP8 with other scales.
    """
    settings = fields.members(QUANTIZATION)
    if settings is None:
        if fields.has(MLX_QUANTIZATION):
            raise fields.refused(MLX_QUANTIZATION, f"is MLX's; {SUPPORTED}")
        return False
    method = settings.text("quant_method")
    if method is None:
        # bitsandbytes of old, and MLX, name no method.
        hint = ", ".join(shown(name.removeprefix(settings.prefix)) for name in list(settings.values)[:4])
        raise settings.refused("quant_method", f"is missing (there are: {hint}); {SUPPORTED}")
    if method != FP8:
        kind = settings.text("format") or settings.text("quant_algo")
        raise settings.refused("quant_method", f"is {shown(method)}{f' ({shown(kind)})' if kind else ''}; {SUPPORTED}")
    kind = settings.text("fmt")
    if kind not in (None, "e4m3"):
        raise settings.refused("fmt", f"is {shown(kind)}; {SUPPORTED}")
    block = settings.values.get(settings.prefix + "weight_block_size")
    if block is None:
        raise settings.refused("weight_block_size", f"is missing, which means one scale a tensor; {SUPPORTED}")
    if block != [SCALE_BLOCK, SCALE_BLOCK] or any(type(size) is not int for size in block):
        raise settings.refused("weight_block_size", f"is {shown(block)}; {SUPPORTED}")
    scheme = settings.text("activation_scheme")
    if scheme not in (None, "dynamic"):
        raise settings.refused("activation_scheme", f"is {shown(scheme)}; dynamic is supported")
    return True
