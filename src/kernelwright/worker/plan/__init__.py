"""The launch plan that the recorder writes: its data, its checks, its layout in memory and its replay."""
