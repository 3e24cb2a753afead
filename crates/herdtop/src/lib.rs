//! herdtop.
