//! Nothing runs here: this crate exists for its tests.
//!
//! They read the repository the way a reviewer would and fail when the tree no
//! longer is what the documents say: which crate may depend on which, which
//! module of the engine may see which, how long a file may be, which rules are
//! held by a test, and how many crates an embedding service takes on.
//!
//! The checks are functions from text to a list of complaints, so that each of
//! them is itself tested on a small text that breaks the rule.
