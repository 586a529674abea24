//! Tests of the tensor instructions.
