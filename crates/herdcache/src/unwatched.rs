//! [`WhenUnwatched`]: what becomes of a load that nobody waits for any more.

/// What becomes of a load when the last caller that waited for it has left.
///
/// Callers leave when their future is dropped or their wait timeout passes. Background refreshes have nobody
/// who waits, and go on in either case; so does a load whose caller was answered an older value meanwhile, and so do
/// those that [`get_many`](crate::ReadThrough::get_many) has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenUnwatched {
    /// It goes on and fills the cache. The default.
    #[default]
    Finish,
    /// Its future is dropped and its permit comes back. The key does not cool: the next caller loads anew.
    ///
    /// For loads that are dear to the origin and stop when they are dropped. When callers are impatient, each of
    /// them starts what none of them sees finished, and the value is never cached. Blocking work cannot be stopped:
    /// it keeps its permit until it has ended.
    Abandon,
}

impl WhenUnwatched {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Abandon => "abandon",
        }
    }
}
