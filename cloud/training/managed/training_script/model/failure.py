"""What ends a training with a message for people."""


class TrainingFailure(Exception):
    """Its text is all that people are shown: what is wrong, and what to do about it."""
