"""Trained models of scikit-learn, XGBoost and LightGBM as programs over encrypted rows."""

from cloakwork.frontends.models.coding import Coding, load_coding
from cloakwork.frontends.models.compile_model import Model, compile

__all__ = ["Coding", "Model", "compile", "load_coding"]
