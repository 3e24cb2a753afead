//! Maps whose keys are hashes already.

/// A map from a key's hash to `T`.
pub(crate) type ByHash<T> = std::collections::HashMap<u64, T, foldhash::fast::FixedState>;
