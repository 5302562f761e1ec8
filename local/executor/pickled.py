"""A loader of functions that come as pickles, for executor.py: EXECUTOR_LOADER=pickled:load.

Whoever may create a view or a column can then run any code in the executor. The image must have the package that made
the pickles, such as cloudpickle.
"""

import base64
import json
import pickle


def load(backend: str, envelope: bytes):
    """The function of an envelope: a pickle, or a JSON object with one in base64 in the field payload."""
    try:
        data = base64.b64decode(json.loads(envelope)["payload"])
    except ValueError:
        data = envelope
    return pickle.loads(data)
