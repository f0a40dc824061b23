"""Views of what was found: text for people, `trace/` for tools. Nothing here decides or measures anything."""
