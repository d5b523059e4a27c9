"""ONNX models as modules of torch, operator by operator."""
