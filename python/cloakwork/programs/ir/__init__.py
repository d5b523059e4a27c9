"""The forms that frontends write and plans lower: tensors, layers, scalar circuits, vectors."""
