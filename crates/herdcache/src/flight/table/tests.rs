//! See the laws.
