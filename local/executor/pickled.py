"""A loader of pickled functions for executor.py: EXECUTOR_LOADER=pickled:load.

Whoever may create a view or a column can then run any code in the executor. The image must contain the package that created
the pickles, such as cloudpickle.
"""

import base64
import json
import pickle


def load(backend: str, envelope: bytes):
    """Returns the function in an envelope: a pickle, or a JSON object with a base64-encoded pickle in the field payload."""
    try:
        data = base64.b64decode(json.loads(envelope)["payload"])
    except ValueError:
        data = envelope
    return pickle.loads(data)
