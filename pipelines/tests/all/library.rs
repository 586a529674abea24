//! The example that the documentation of the crate shows does what it says.

include!("example.rs");

#[test]
fn the_example_runs() {
    example();
}
