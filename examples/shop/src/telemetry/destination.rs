//! Where OTLP goes: what `--otlp` says, or what the environment says.
//!
//! The scheme chooses how it is carried. Names of variables are those of OpenTelemetry's specification.

use std::env;
use std::fmt;
use std::time::Duration;

use axum::http::Uri;

/// How OTLP is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC; collectors usually listen at port 4317.
    Grpc,
    /// HTTP with protobuf; usually at port 4318.
    Http,
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Metrics.
    Metrics,
    /// Traces.
    Traces,
}

/// Where OTLP goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// As `OTEL_EXPORTER_OTLP_*` say, and to a collector on this machine where they say nothing.
    Environment,
    /// To this address, whatever they say.
    At {
        /// How.
        protocol: Protocol,
        /// `http://host:port`, and over HTTP perhaps a path, to which that of the signal is added.
        base: String,
    },
}

/// The longest that one export may take, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise.
const EXPORT: Duration = Duration::from_secs(3);

impl Destination {
    /// Reads `grpc://host:port` or `http://host:port`; nothing means the environment.
    ///
    /// # Errors
    ///
    /// A text that says what would be taken.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::Environment);
        }
        let shape = "write grpc://HOST:PORT (usually port 4317) or http://HOST:PORT (usually 4318)";
        let (protocol, rest) = match text.split_once("://") {
            Some(("grpc", rest)) => (Protocol::Grpc, rest),
            Some(("http", rest)) => (Protocol::Http, rest),
            Some(("https" | "grpcs", _)) => {
                return Err(
                    "TLS is not built into this example: send to a collector nearby that passes it on".to_owned()
                );
            }
            Some(_) | None => return Err(shape.to_owned()),
        };
        if rest.contains('@') {
            return Err(
                "credentials belong into OTEL_EXPORTER_OTLP_HEADERS, where nobody who lists processes sees them"
                    .to_owned(),
            );
        }
        let base = format!("http://{}", rest.trim_end_matches('/'));
        let uri: Uri = base.parse().map_err(|_| shape.to_owned())?;
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        if !has_host || uri.port_u16().is_none() || uri.query().is_some() {
            return Err(shape.to_owned());
        }
        if protocol == Protocol::Grpc && uri.path() != "/" {
            return Err("gRPC has no path: write grpc://HOST:PORT".to_owned());
        }
        Ok(Self::At { protocol, base })
    }

    /// How a signal is carried.
    ///
    /// # Errors
    ///
    /// A text that names the variable and what it may say.
    pub fn protocol(&self, signal: Signal) -> Result<Protocol, String> {
        if let Self::At { protocol, .. } = self {
            return Ok(*protocol);
        }
        let Some((name, value)) = signal.variable("PROTOCOL") else { return Ok(Protocol::Http) };
        match value.as_str() {
            "grpc" => Ok(Protocol::Grpc),
            "http/protobuf" => Ok(Protocol::Http),
            _ => Err(format!("{name} is {value:?}: this example speaks grpc and http/protobuf")),
        }
    }

    /// The address that the exporter of a signal is given; `None` leaves it to the environment.
    pub fn endpoint(&self, signal: Signal) -> Option<String> {
        match self {
            Self::Environment => None,
            Self::At { protocol: Protocol::Grpc, base } => Some(base.clone()),
            // What is set in code is taken as it is: the path of the signal belongs to it.
            Self::At { protocol: Protocol::Http, base } => Some(format!("{base}{}", signal.path())),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => write!(f, "where OTEL_EXPORTER_OTLP_ENDPOINT says"),
            Self::At { protocol: Protocol::Grpc, base } => write!(f, "{}", base.replacen("http", "grpc", 1)),
            Self::At { protocol: Protocol::Http, base } => write!(f, "{base}"),
        }
    }
}

impl Signal {
    /// Its name in variables.
    fn name(self) -> &'static str {
        match self {
            Self::Metrics => "METRICS",
            Self::Traces => "TRACES",
        }
    }

    /// Its path over HTTP.
    fn path(self) -> &'static str {
        match self {
            Self::Metrics => "/v1/metrics",
            Self::Traces => "/v1/traces",
        }
    }

    /// A setting from the environment: that of the signal, else that of all signals.
    fn variable(self, setting: &str) -> Option<(String, String)> {
        let names = [format!("OTEL_EXPORTER_OTLP_{}_{setting}", self.name()), format!("OTEL_EXPORTER_OTLP_{setting}")];
        names.into_iter().find_map(|name| {
            let value = env::var(&name).ok().filter(|value| !value.is_empty())?;
            Some((name, value))
        })
    }

    /// Whether it is to be sent at all: not where `OTEL_TRACES_EXPORTER` or `OTEL_METRICS_EXPORTER` is `none`.
    pub fn is_wanted(self) -> bool {
        env::var(format!("OTEL_{}_EXPORTER", self.name())).map_or(true, |value| !value.eq_ignore_ascii_case("none"))
    }

    /// The longest that one export may take, its repetitions included.
    pub fn timeout(self) -> Duration {
        let millis = self.variable("TIMEOUT").and_then(|(_, value)| value.parse().ok());
        millis.map_or(EXPORT, Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Result<(Protocol, String), String> {
        match Destination::parse(text)? {
            Destination::At { protocol, base } => Ok((protocol, base)),
            Destination::Environment => Err("the environment".to_owned()),
        }
    }

    #[test]
    fn the_scheme_chooses_how_it_is_carried() {
        assert_eq!(at("grpc://127.0.0.1:4317"), Ok((Protocol::Grpc, "http://127.0.0.1:4317".to_owned())));
        assert_eq!(at("grpc://[::1]:4317/"), Ok((Protocol::Grpc, "http://[::1]:4317".to_owned())));
        assert_eq!(at("http://otel:4318"), Ok((Protocol::Http, "http://otel:4318".to_owned())));
        let path = Destination::parse("http://vm:8428/opentelemetry/").unwrap();
        assert_eq!(path.endpoint(Signal::Metrics).unwrap(), "http://vm:8428/opentelemetry/v1/metrics");
        assert_eq!(path.endpoint(Signal::Traces).unwrap(), "http://vm:8428/opentelemetry/v1/traces");
        assert_eq!(Destination::parse(""), Ok(Destination::Environment));
    }

    #[test]
    fn a_bad_address_is_refused_with_what_would_be_taken() {
        let cases = [
            ("127.0.0.1:4317", "grpc://HOST:PORT"),
            ("ftp://a:1", "grpc://HOST:PORT"),
            ("grpc://otel", "usually port 4317"),
            ("http://:4318", "usually 4318"),
            ("http://otel:70000", "usually 4318"),
            ("http://otel:4318/v1?a=b", "usually 4318"),
            ("http://a b:4318", "usually 4318"),
            ("https://otel:4318", "TLS"),
            ("grpcs://otel:4317", "TLS"),
            ("grpc://otel:4317/v1/metrics", "no path"),
            ("http://me:secret@otel:4318", "OTEL_EXPORTER_OTLP_HEADERS"),
        ];
        for (text, expected) in cases {
            let refused = Destination::parse(text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
