//! T3: what a value is wrapped in on its way through a shared tier.
//!
//! Only durations travel, never a moment: ages are worked out at the reader from the
//! time for which the tier was told to keep the bytes and what is left of it. A
//! decoder believes nothing: it copies no more than it was given, and bytes whose
//! checksum is wrong are no envelope.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::marks::MOST_TAGS;

/// The first bytes of every envelope.
const MAGIC: [u8; 4] = *b"hrdc";
/// The version of this layout. A reader of another one takes the bytes for foreign.
const VERSION: u8 = 1;
/// The fixed part: magic to the payload's length.
const HEAD: usize = 96;
/// The checksum behind everything else.
const SUM: usize = 8;

/// A value, or its absence, with what a reader must know of it. Durations are nanoseconds, as of the write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    /// The hash of the key that it belongs to.
    pub(crate) key: u64,
    pub(crate) codec: u32,
    pub(crate) payload: Payload<'a>,
    /// Whose word the bounds past freshness are, as a code of the engine.
    pub(crate) word: u8,
    /// For how long the tier was told to keep it.
    pub(crate) keep_for: u64,
    pub(crate) age: u64,
    /// What was left until each bound.
    pub(crate) soft: u64,
    pub(crate) hard: u64,
    pub(crate) last: u64,
    /// How long its load took.
    pub(crate) load_ns: u64,
    /// The version at the source.
    pub(crate) version: Option<u64>,
    /// The fencing token of its load; 0 if the tier was to give it one.
    pub(crate) fence: u64,
    pub(crate) validator: Option<&'a str>,
    pub(crate) tags: Vec<&'a str>,
}

/// What is in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload<'a> {
    Value(&'a [u8]),
    Absent,
}

/// Bytes that are no envelope of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign;

impl<'a> Envelope<'a> {
    /// The bytes; `None` if a part is longer than an envelope can say.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let (kind, payload) = match self.payload {
            Payload::Value(bytes) => (0, bytes),
            Payload::Absent => (1, &[][..]),
        };
        let tags: usize = self.tags.iter().map(|tag| tag.len() + 2).sum();
        let validator = self.validator.unwrap_or_default();
        let mut out = Vec::with_capacity(HEAD + validator.len() + tags + payload.len() + SUM);
        out.extend(MAGIC);
        let flags = u8::from(self.version.is_some()) | u8::from(self.validator.is_some()) << 1;
        out.extend([VERSION, kind, self.word, flags]);
        out.extend(self.key.to_le_bytes());
        out.extend(self.codec.to_le_bytes());
        out.extend(0_u32.to_le_bytes());
        let times = [self.keep_for, self.age, self.soft, self.hard, self.last, self.load_ns];
        for number in times.into_iter().chain([self.version.unwrap_or(0), self.fence]) {
            out.extend(number.to_le_bytes());
        }
        out.extend(u16::try_from(self.tags.len()).ok()?.to_le_bytes());
        out.extend(u16::try_from(validator.len()).ok()?.to_le_bytes());
        out.extend(u32::try_from(payload.len()).ok()?.to_le_bytes());
        out.extend(validator.as_bytes());
        for tag in &self.tags {
            out.extend(u16::try_from(tag.len()).ok()?.to_le_bytes());
            out.extend(tag.as_bytes());
        }
        out.extend(payload);
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        Some(out)
    }

    /// Reads an envelope out of anything.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, Foreign> {
        let (body, sum) = bytes.split_last_chunk::<SUM>().ok_or(Foreign)?;
        if !body.starts_with(&MAGIC) || checksum(body) != u64::from_le_bytes(*sum) {
            return Err(Foreign);
        }
        let mut rest = Rest(&body[MAGIC.len()..]);
        let [version, kind, word, flags] = rest.take::<4>()?;
        if version != VERSION {
            return Err(Foreign);
        }
        let key = rest.number()?;
        let codec = u32::from_le_bytes(rest.take()?);
        rest.take::<4>()?;
        let (keep_for, age) = (rest.number()?, rest.number()?);
        let (soft, hard, last) = (rest.number()?, rest.number()?, rest.number()?);
        let (load_ns, at_source, fence) = (rest.number()?, rest.number()?, rest.number()?);
        let (tags, validator) = (rest.short()?, rest.short()?);
        let payload = u32::from_le_bytes(rest.take()?);
        if usize::from(tags) > MOST_TAGS {
            return Err(Foreign);
        }
        let validator = rest.text(validator)?;
        let tags = (0..tags).map(|_| rest.short().and_then(|length| rest.text(length))).collect::<Result<_, _>>()?;
        let payload = rest.all(usize::try_from(payload).map_err(|_| Foreign)?)?;
        Ok(Self {
            key,
            codec,
            payload: match kind {
                0 => Payload::Value(payload),
                1 if payload.is_empty() => Payload::Absent,
                _ => return Err(Foreign),
            },
            word,
            keep_for,
            age,
            soft,
            hard,
            last,
            load_ns,
            version: (flags & 1 != 0).then_some(at_source),
            fence,
            validator: (flags & 2 != 0).then_some(validator),
            tags,
        })
    }
}

/// Not against an enemy who knows it, but against everything that breaks by itself.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Foreign> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Foreign)?;
        self.0 = rest;
        Ok(*head)
    }

    fn number(&mut self) -> Result<u64, Foreign> {
        self.take().map(u64::from_le_bytes)
    }

    fn short(&mut self) -> Result<u16, Foreign> {
        self.take().map(u16::from_le_bytes)
    }

    fn text(&mut self, length: u16) -> Result<&'a str, Foreign> {
        let (text, rest) = self.0.split_at_checked(usize::from(length)).ok_or(Foreign)?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| Foreign)
    }

    /// Everything that is left, which must be this much.
    fn all(self, length: usize) -> Result<&'a [u8], Foreign> {
        if self.0.len() == length { Ok(self.0) } else { Err(Foreign) }
    }
}

#[cfg(test)]
mod tests;
