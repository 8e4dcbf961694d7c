"""The hot loops: products with packed weights, and the recurrent layer, compiled where possible."""
