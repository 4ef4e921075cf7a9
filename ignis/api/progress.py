"""How far a download is, as clients read it."""

from ignis.api.schema.models import DownloadProgress
from ignis.downloads import Download
from ignis.error_body import without_folders


def progress_of(download: Download) -> DownloadProgress:
    return DownloadProgress(
        model=download.entry.id,
        state=download.state.value,
        done_bytes=download.done_bytes,
        total_bytes=download.total_bytes,
        bytes_per_second=round(download.bytes_per_second),
        reason=without_folders(download.reason) or None,
    )
