"""ignis_ceilings and ignis_step_times of the step ABI, through ctypes."""

from ctypes import Structure, c_double, c_uint32


class Ceilings(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("read_bytes_s", c_double),
        ("copy_bytes_s", c_double),
        ("matrix_flops_s", c_double),
    )


class StepTimes(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("launch_s", c_double),
        ("wait_s", c_double),
        ("device_s", c_double),
    )
