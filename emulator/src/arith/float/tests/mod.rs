//! Tests of floating-point arithmetic.
