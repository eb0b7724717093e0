"""A finished run as one page that opens in any browser."""

from neardup.report.page.report_file import MAX_CLUSTERS, write_report

__all__ = ["MAX_CLUSTERS", "write_report"]
