//! What the types say, on real descriptions.
