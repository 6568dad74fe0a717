"""A clock for what waits: only sleeping moves it."""


class SleepingClock:
    def __init__(self):
        self.now = 1_800_000_000.0
        self.slept = 0.0

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.slept += seconds
