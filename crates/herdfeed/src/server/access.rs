//! [`Access`]: who may read a Unix socket, beside its owner and root.
//!
//! Says what is wanted and whether it makes sense; making the file is `bind`'s
//! part, and judging who connects is `peers`'.

use std::io;

/// Where groups have their names.
#[cfg(unix)]
const GROUPS: &str = "/etc/group";

/// The mode of a socket for its owner alone.
const OWNER: u32 = 0o600;
/// The mode of a socket that a group shares, unless another is given.
const SHARED: u32 = 0o660;

/// The rights of the rest of the machine.
pub(super) const OTHERS: u32 = 0o007;

/// Who may read a Unix socket, beside its owner and root. Default: nobody.
///
/// ```
/// use herdfeed::server::Access;
/// let operators = Access::default().group("ops");          // mode 0660
/// let by_number = Access::default().group(1_001).mode(0o660);
/// assert!(operators != by_number && !operators.is_default());
/// assert!(Access::default().is_default()); // this user and root
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    group: Option<Group>,
    mode: Option<u32>,
}

/// A group of users.
///
/// ```
/// use herdfeed::server::Group;
/// assert_eq!(Group::from("ops"), Group::Name("ops".to_owned()));
/// assert_eq!(Group::from("1001"), Group::Id(1_001)); // as a setting from the environment has it
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// By its number.
    Id(u32),
    /// By its name in `/etc/group`. Groups of a directory service are not found there: give their number,
    /// as `getent group NAME` tells it.
    Name(String),
}

impl From<u32> for Group {
    fn from(id: u32) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for Group {
    /// A text of digits is a number.
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Id)
    }
}

impl From<String> for Group {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// What an access comes to on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Circle {
    /// The owner and root.
    Owner,
    /// The members of a group as well.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix sockets have groups"))]
    Group {
        /// The group's number.
        id: u32,
        /// The file's mode.
        mode: u32,
    },
}

impl Access {
    /// Lets the members of a group read. The service must be a member itself, or run as root. Default: no group.
    #[must_use]
    pub fn group(mut self, group: impl Into<Group>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// The mode of the socket's file: `0o600` (the default without a group), or with a group
    /// `0o660` (the default) or `0o620`. On Linux writing alone is the right to connect.
    ///
    /// Modes for everybody are refused when the feed starts.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Whether it asks for nothing but the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The circle of readers, if the wish makes sense and the group exists.
    pub(super) fn circle(&self) -> io::Result<Circle> {
        let mode = self.mode.unwrap_or(if self.group.is_some() { SHARED } else { OWNER });
        let wrong = |remedy: &str| Err(invalid(format!("mode {mode:04o} of the feed's socket {remedy}")));
        if mode & OTHERS != 0 {
            return wrong("would let every user of this machine connect: use 0660 and name a group");
        }
        if mode & OWNER != OWNER || mode & !SHARED != 0 {
            return wrong("is none for a socket: use 0600, or 0660 with a group");
        }
        match &self.group {
            None if mode == OWNER => Ok(Circle::Owner),
            None => wrong("gives rights to a group, but none is named: name the group, or use 0600"),
            Some(_) if mode & 0o020 == 0 => wrong("keeps the named group out: use 0660, or name no group"),
            Some(group) => Ok(Circle::Group { id: group.id()?, mode }),
        }
    }
}

impl Group {
    #[cfg(unix)]
    fn id(&self) -> io::Result<u32> {
        let name = match self {
            Self::Id(id) => return Ok(*id),
            Self::Name(name) => name,
        };
        let listed = std::fs::read_to_string(GROUPS).unwrap_or_default();
        id_in(&listed, name).ok_or_else(|| {
            invalid(format!(
                "group {name:?} of the feed's socket is not in {GROUPS}: make it (groupadd), or give its number \
                 (getent group NAME)"
            ))
        })
    }

    #[cfg(not(unix))]
    fn id(&self) -> io::Result<u32> {
        Err(invalid("this system has no groups of Unix sockets: name no group".to_owned()))
    }
}

/// The number of a group in a file of the form `name:password:number:members`.
#[cfg(unix)]
fn id_in(listed: &str, name: &str) -> Option<u32> {
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        let found = fields.next() == Some(name) && !name.is_empty();
        found.then(|| fields.nth(1)).flatten()?.trim().parse().ok()
    };
    listed.lines().find_map(of_line)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn p1_a_socket_is_for_its_owner_unless_a_group_is_named() {
        let access = Access::default();
        assert_eq!(access.circle().unwrap(), Circle::Owner);
        assert_eq!(access.clone().mode(0o600).circle().unwrap(), Circle::Owner);
        assert_eq!(access.clone().group(7).circle().unwrap(), Circle::Group { id: 7, mode: 0o660 });
        assert_eq!(access.clone().group("7").mode(0o620).circle().unwrap(), Circle::Group { id: 7, mode: 0o620 });
    }

    #[test]
    fn p1_a_mode_that_opens_too_much_or_nothing_says_what_to_use() {
        for (access, part) in [
            (Access::default().mode(0o666), "mode 0666 of the feed's socket would let every user"),
            (Access::default().group(7).mode(0o661), "would let every user"),
            (Access::default().mode(0o660), "to a group, but none is named"),
            (Access::default().group(7).mode(0o600), "keeps the named group out"),
            (Access::default().mode(0o200), "is none for a socket: use 0600"),
            (Access::default().group(7).mode(0o770), "is none for a socket"),
            (Access::default().group(7).mode(0o100_660), "is none for a socket"),
            (Access::default().group("no such group"), "\"no such group\" of the feed's socket is not in /etc/group"),
        ] {
            let error = access.circle().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let listed = "root:x:0:\nops:x:1001:ann,ben\nopsx:x:1002:\nbroken\nodd:x:many:\n";
        assert_eq!(id_in(listed, "ops"), Some(1_001));
        assert_eq!(id_in(listed, "root"), Some(0));
        for name in ["op", "broken", "odd", "", "ann"] {
            assert_eq!(id_in(listed, name), None, "{name}");
        }
    }
}
