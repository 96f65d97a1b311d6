"""TensorBoard, MLflow and Weights & Biases as further outputs of a run's metrics.

Their packages are extras: they are imported when a run begins that names them, never before.
"""
