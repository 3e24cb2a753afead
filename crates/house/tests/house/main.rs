//! The repository checked against what its documents promise.
//!
//! One room a promise. Each room holds a pure function from text to complaints,
//! a test that runs it over the tree, and a test that shows it can fail.

mod arrows;
mod budget;
mod cancel;
mod errors;
mod examples;
mod guide;
mod headings;
mod hygiene;
mod links;
mod manifests;
mod observers;
mod primitives;
mod proof;
mod readme;
mod rooms;
mod rules;
mod source;
mod tree;
mod weight;
mod words;
