//! herdcache.
