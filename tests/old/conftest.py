"""The files under 53e3f48 are data: the tests of an exported package among them are not run."""

collect_ignore = ["53e3f48"]
