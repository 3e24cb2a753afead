//! herdlab.
