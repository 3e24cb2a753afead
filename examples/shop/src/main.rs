//! The shop.
fn main() {}
