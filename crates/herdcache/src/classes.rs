//! What kind of error the origin gave, in the application's words.
//!
//! The text of an error never leaves the process; a class out of a list that was
//! given at build does, so that every class is counted from 0 on and there are
//! never more.

use std::fmt;
use std::sync::Arc;

use herdfeed::OTHER_ERROR;

use crate::builder::Builder;
use crate::config::ConfigError;
use crate::contained::contained;
use crate::error::Failure;
use crate::key::Key;

/// The most classes; what is of none of them is counted as `_OTHER`.
const MOST: usize = 16;
/// The longest name of a class.
const LONGEST: usize = 64;

type Of<E> = dyn Fn(&E) -> &'static str + Send + Sync;

/// The classes of one cache's origin errors.
pub(crate) struct Classes<E> {
    names: &'static [&'static str],
    of: Option<Arc<Of<E>>>,
}

impl<E> Classes<E> {
    pub(crate) fn none() -> Self {
        Self { names: &[], of: None }
    }

    pub(crate) fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// The class of a failed load by its place among the names; one place behind them for what has none.
    ///
    /// Runs the application's code: never under a lock. If it panics, the error has no class.
    pub(crate) fn of(&self, failure: &Failure<E>) -> usize {
        let (Failure::Origin(error), Some(of)) = (failure, &self.of) else { return self.names.len() };
        let place = contained(|| of(error)).and_then(|name| self.names.iter().position(|known| *known == name));
        place.unwrap_or(self.names.len())
    }

    pub(crate) fn check(&self, cache: &str) -> Result<(), ConfigError> {
        let error = |problem: String| Err(ConfigError::new(format!("cache {cache:?}"), "error_classes", problem));
        if self.names.len() > MOST {
            return error(format!("has {} classes, at most {MOST} are counted: name fewer", self.names.len()));
        }
        for (place, name) in self.names.iter().enumerate() {
            if !is_plain(name) {
                return error(format!("{name:?} is not 1 to {LONGEST} of `a-z0-9_.-`"));
            }
            if self.names[..place].contains(name) {
                return error(format!("names {name:?} twice"));
            }
        }
        Ok(())
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(plain)
}

impl<E> fmt::Debug for Classes<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Classes").field(&self.names).finish()
    }
}

/// Each class's name, in the order of [`Classes::of`].
pub(crate) fn all(names: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    names.iter().copied().chain([OTHER_ERROR])
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Builder<K, V, E> {
    /// Counts the origin's errors by class: at most 16 names of up to 64 of `a-z0-9_.-`, and a function that says which
    /// of them an error is of. Default: none, all are counted as `_OTHER`.
    ///
    /// The class, and nothing else of an error, is shown in the account, in the feed and in metrics (`error.type`). What
    /// is of none of the names is counted as `_OTHER`. Timeouts and panics have words of their own and are not asked for.
    ///
    /// More: series of the metric, one for each name. Less: errors that cannot be told apart.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use herdcache::{Cache, Gate, LoadContext, Ttl};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), herdcache::ConfigError> {
    /// enum DbError { Unreachable, Sql(String) }
    ///
    /// let rows = Cache::<u64, String, DbError>::builder("rows", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
    ///     .error_classes(&["unreachable", "sql"], |error| match error {
    ///         DbError::Unreachable => "unreachable",
    ///         DbError::Sql(_) => "sql",
    ///     })
    ///     .build()?;
    /// let failed = rows.get_with(&7, |_| async { Err::<String, _>(DbError::Sql("no such table".into())) }).await;
    /// assert!(failed.is_err());
    /// assert_eq!(rows.snapshot().origin_errors["sql"], 1); // the class, and never the text
    /// # let _ = DbError::Unreachable;
    /// # Ok(()) }
    /// ```
    pub fn error_classes(
        mut self,
        names: &'static [&'static str],
        of: impl Fn(&E) -> &'static str + Send + Sync + 'static,
    ) -> Self {
        self.classes = Classes { names, of: Some(Arc::new(of)) };
        self
    }
}
