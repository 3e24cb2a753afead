//! How large a storm is.

/// A number from the environment.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
