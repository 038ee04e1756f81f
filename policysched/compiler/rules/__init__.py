"""Policy rules as plugins: one module for each kind of rule."""
