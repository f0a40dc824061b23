"""A run's report as a page: one self-contained HTML file, or Markdown for a pull request.

`report/content.py` computes the content; `html` and `markdown` only lay it out. A page loads nothing, and text written
by a candidate is escaped.
"""

from kernelwright.report.page.html import html_page
from kernelwright.report.page.markdown import markdown_page
