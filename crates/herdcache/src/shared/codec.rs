//! How values become bytes. A cache without a shared tier needs none of it.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// How the values of a cache become bytes and come back.
///
/// Both run outside every lock. A panic in them is caught: it costs the write, or is a miss.
///
/// ```
/// use herdcache::{Codec, CodecError};
/// #[derive(Debug)]
/// struct Plain;
/// impl Codec<String> for Plain {
///     fn id(&self) -> u32 { 0x7061_696e }
///     fn name(&self) -> &'static str { "plain" }
///     fn encode(&self, value: &String, into: &mut Vec<u8>) -> Result<(), CodecError> {
///         into.extend_from_slice(value.as_bytes());
///         Ok(())
///     }
///     fn decode(&self, bytes: &[u8]) -> Result<String, CodecError> {
///         String::from_utf8(bytes.to_vec()).map_err(|_| CodecError)
///     }
/// }
/// let mut bytes = Vec::new();
/// Plain.encode(&"tea".to_owned(), &mut bytes)?;
/// assert_eq!(Plain.decode(&bytes)?, "tea");
/// assert_eq!(Plain.decode(&[0xff]), Err(CodecError)); // bytes of anybody else: a counted miss
/// # Ok::<(), CodecError>(())
/// ```
pub trait Codec<V>: Send + Sync + 'static {
    /// Tells this encoding apart from every other: bytes of another one are a counted miss. 1 is JSON's.
    fn id(&self) -> u32;

    /// Its name in the effective configuration.
    fn name(&self) -> &'static str;

    /// Appends the value's bytes.
    ///
    /// # Errors
    /// [`CodecError`] if it has none. Then it is not shared (`encode_error`).
    fn encode(&self, value: &V, into: &mut Vec<u8>) -> Result<(), CodecError>;

    /// The value of these bytes, which may be anybody's.
    ///
    /// # Errors
    /// [`CodecError`] if there is none. A counted miss (`decode_error`).
    fn decode(&self, bytes: &[u8]) -> Result<V, CodecError>;
}

/// A value without bytes, or bytes without a value. Says no more, since both may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecError;

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such bytes, or no such value")
    }
}

impl std::error::Error for CodecError {}

/// JSON by serde: the default.
pub(crate) struct Json<V>(PhantomData<fn(V)>);

impl<V> Json<V> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<V: Serialize + DeserializeOwned + 'static> Codec<V> for Json<V> {
    fn id(&self) -> u32 {
        1
    }

    fn name(&self) -> &'static str {
        "json"
    }

    fn encode(&self, value: &V, into: &mut Vec<u8>) -> Result<(), CodecError> {
        serde_json::to_writer(into, value).map_err(|_| CodecError)
    }

    fn decode(&self, bytes: &[u8]) -> Result<V, CodecError> {
        serde_json::from_slice(bytes).map_err(|_| CodecError)
    }
}
