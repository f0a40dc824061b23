"""A run's report as a page: one self-contained HTML file, or Markdown for a pull request.

`report/content.py` says what is on it; `html` and `markdown` only lay it out. A page fetches
nothing, and whatever a candidate wrote is text on it, never markup.
"""

from kernelwright.report.page.html import html_page
from kernelwright.report.page.markdown import markdown_page

__all__ = ["html_page", "markdown_page"]
