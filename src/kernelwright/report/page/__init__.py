"""A run's report as a page: one self-contained HTML file, or Markdown for a pull request.

`facts` and `tree` say what is on it, as plain text in records; `html` and `markdown` only lay it out. The rule: a page
fetches nothing, and whatever a candidate wrote is text on it, never markup.
"""

from kernelwright.report.page.html import html_page
from kernelwright.report.page.markdown import markdown_page

__all__ = ["html_page", "markdown_page"]
