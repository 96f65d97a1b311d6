"""The page about runs that go on: what has changed in its data, and a server for one reader."""
