"""Takes pictures of a page, wide and on a phone, light and dark, and keeps them as small PNGs of a palette."""

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

MAX_BYTES = 75_000
WIDE, PHONE = (1440, 900), (360, 740)

POINTS = """async (address) => {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const context = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  context.drawImage(picture, 0, 0);
  const reader = new FileReader();
  reader.readAsDataURL(new Blob([context.getImageData(0, 0, picture.width, picture.height).data]));
  await new Promise((resolve) => (reader.onload = resolve));
  return reader.result.split(",")[1];
}"""


class Camera:
    """Has a blank page beside the one that it looks at: there the browser reads its own pictures."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder, self.reader = page, folder, page.context.new_page()
        self.session = page.context.new_cdp_session(page)
        self.aim("light")

    def aim(self, kind: str) -> tuple[int, int]:
        """Gives the page the size and the colours of a kind: light, dark, phone or phone-dark. Phones come last: what
        was touched once has no pointer that hovers any more."""
        is_phone = "phone" in kind
        width, height = PHONE if is_phone else WIDE
        # By the browser's own protocol: to Playwright a context, with all that is kept, is a phone's for good or never.
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
        self.session.send("Emulation.setDeviceMetricsOverride", screen)
        if is_phone:
            self.session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        self.page.emulate_media(color_scheme="dark" if "dark" in kind else "light")
        # No button is under the pointer, and no field has the focus but a dialog's.
        self.page.mouse.move(width - 3, height // 2)
        self.page.evaluate("document.activeElement?.closest('dialog') || document.activeElement?.blur()")
        return width, height

    def take(self, view: str, *kinds: str, wait_ms: float = 400) -> None:
        """Prints which it made; wait_ms: until the page has come to rest."""
        for kind in kinds:
            width, height = self.aim(kind)
            self.page.wait_for_timeout(wait_ms)
            drawn = self.session.send("Page.captureScreenshot", {"format": "png"})["data"]
            read = base64.b64decode(self.reader.evaluate(POINTS, f"data:image/png;base64,{drawn}"))
            points = np.frombuffer(read, np.uint8).reshape(height, width, 4)[:, :, :3]
            made = paletted(points, 256)
            for num_colours in (128, 64, 32):
                if len(made) > MAX_BYTES:
                    made = paletted(points, num_colours)
            name = f"{view}-{kind}.png"
            (self.folder / name).write_bytes(made)
            print(f"{name:24}{len(made):8,} bytes", flush=True)


def paletted(points: NDArray[np.uint8], num_colours: int) -> bytes:
    """Returns a PNG of one byte a point; points: [height, width, 3]. Each has the nearest colour of the palette, whose
    first are the commonest, so that flat surfaces keep theirs; each further one is that which is missed most then."""
    assert 0 < num_colours <= 256
    height, width, _ = points.shape
    packed = points.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    found, where, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1).astype(np.int64)
    distance = np.full(len(found), 3 * 255**2)
    nearest = np.zeros(len(found), np.uint8)
    palette = bytearray()
    for number in range(min(num_colours, len(found))):
        colour = colours[np.argmax(counts * distance)]
        palette += bytes(colour.astype(np.uint8))
        to_it = ((colours - colour) ** 2).sum(axis=1)
        nearest[to_it < distance] = number
        distance = np.minimum(distance, to_it)
    # Each row begins with its filter: none, which suits letters and surfaces.
    rows = np.zeros((height, 1 + width), np.uint8)
    rows[:, 1:] = nearest[where].reshape(height, width)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (b"IHDR", header), (b"PLTE", bytes(palette)), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, content) for name, content in chunks)


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
