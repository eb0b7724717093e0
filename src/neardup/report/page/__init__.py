"""A finished run as one page that opens in any browser."""

from neardup.report.page.report_file import write_report

__all__ = ["write_report"]
