"""To be imported before PyTorch by a worker that lives for seconds: nobody looks for garbage, above all not during the
import and at the end, which is nearly half of its processor time.
"""
import atexit
import gc

gc.disable()
atexit.register(gc.freeze)
