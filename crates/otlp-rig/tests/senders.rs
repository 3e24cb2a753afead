//! What collectors take and refuse, by senders that speak HTTP by hand and gRPC by the generated client.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::metrics::v1::{
    Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use otlp_rig::{Collector, Kind, LIMIT, Misbehaving, Protocol, Refusal};
use prost::Message;
use tonic::codec::CompressionEncoding;

fn request() -> ExportMetricsServiceRequest {
    let point = NumberDataPoint { value: Some(number_data_point::Value::AsInt(7)), ..NumberDataPoint::default() };
    let sum = Sum { data_points: vec![point], is_monotonic: true, aggregation_temporality: 2 };
    let metric = Metric { name: "a".into(), data: Some(metric::Data::Sum(sum)), ..Metric::default() };
    let scope = ScopeMetrics { metrics: vec![metric], ..ScopeMetrics::default() };
    let resource = ResourceMetrics { scope_metrics: vec![scope], ..ResourceMetrics::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![resource] }
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// Posts a body and gives the status.
fn post(collector: &Collector, path: &str, head: &str, body: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(collector.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let length = body.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // Whoever refuses a body need not read it to its end.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer[9..12].to_vec()).unwrap().parse().unwrap()
}

#[test]
fn over_http_plain_and_gzip_are_taken_and_the_rest_refused() {
    let collector = Collector::start(Protocol::Http).unwrap();
    let plain = request().encode_to_vec();
    let kind = "Content-Type: application/x-protobuf";
    let gzipped = format!("{kind}\r\nContent-Encoding: gzip");
    assert_eq!(post(&collector, "/v1/metrics", kind, &plain), 200);
    assert_eq!(post(&collector, "/v1/metrics", &gzipped, &gzip(&plain)), 200);
    assert_eq!(post(&collector, "/v1/metrics", "Content-Type: application/json", b"{}"), 415);
    assert_eq!(post(&collector, "/v1/metrics", &format!("{kind}\r\nContent-Encoding: br"), &plain), 415);
    assert_eq!(post(&collector, "/v1/metrics", kind, b"\x0a\xff"), 400);
    assert_eq!(post(&collector, "/v1/metrics", &gzipped, &plain), 400);
    assert_eq!(post(&collector, "/v1/metrics", &gzipped, &gzip(&vec![0; (16 << 20) + 1])), 413);
    assert_eq!(post(&collector, "/v1/logs", kind, &plain), 404);
    let batches = collector.inbox().batches();
    assert_eq!(batches.len(), 2);
    for batch in batches {
        let point = batch.of("a").next().unwrap();
        assert_eq!((point.kind, batch.count("a", &[])), (Kind::Counter, 7));
    }
}

#[test]
fn over_grpc_plain_and_gzip_are_taken() {
    let collector = Collector::start(Protocol::Grpc).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = MetricsServiceClient::connect(format!("http://{}", collector.address())).await.unwrap();
        client.export(request()).await.unwrap();
        client.clone().send_compressed(CompressionEncoding::Gzip).export(request()).await.unwrap();
    });
    assert_eq!(collector.inbox().batches().len(), 2);
    assert_eq!(collector.inbox().last().count("a", &[]), 7);
}

#[test]
fn a_full_inbox_says_so() {
    let collector = Collector::start(Protocol::Grpc).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = runtime.block_on(async {
        let mut client = MetricsServiceClient::connect(format!("http://{}", collector.address())).await.unwrap();
        for _ in 0..LIMIT {
            client.export(ExportMetricsServiceRequest::default()).await.unwrap();
        }
        client.export(ExportMetricsServiceRequest::default()).await.unwrap_err()
    });
    assert_eq!(refused.code(), tonic::Code::Unavailable);
}

#[test]
fn one_that_is_told_to_refuse_says_why_and_takes_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refusals =
        [(Refusal::Exhausted, tonic::Code::ResourceExhausted, 429), (Refusal::Broken, tonic::Code::Internal, 500)];
    for (refusal, code, status) in refusals {
        let [grpc, http] = Protocol::ALL.map(|protocol| Collector::start(protocol).unwrap());
        grpc.inbox().refuse(refusal);
        http.inbox().refuse(refusal);
        let refused = runtime.block_on(async {
            let mut client = MetricsServiceClient::connect(format!("http://{}", grpc.address())).await.unwrap();
            client.export(request()).await.unwrap_err()
        });
        let answered = post(&http, "/v1/metrics", "Content-Type: application/x-protobuf", &request().encode_to_vec());
        assert_eq!((refused.code(), answered), (code, status));
        for inbox in [grpc.inbox(), http.inbox()] {
            assert_eq!((inbox.refused(), inbox.batches().len(), inbox.raw().len()), (1, 0, 1));
        }
    }
}

#[test]
fn what_came_is_kept_byte_for_byte() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let [grpc, http] = Protocol::ALL.map(|protocol| Collector::start(protocol).unwrap());
    runtime.block_on(async {
        let mut client = MetricsServiceClient::connect(format!("http://{}", grpc.address())).await.unwrap();
        client.export(request()).await.unwrap();
    });
    let body = request().encode_to_vec();
    post(&http, "/v1/metrics", "Content-Type: application/x-protobuf\r\nX-Mark: seven", &body);
    let ends = |collector: &Collector| {
        let raw = collector.inbox().raw().remove(0);
        let head = String::from_utf8_lossy(&raw[..raw.len() - body.len()]).into_owned();
        assert!(raw.ends_with(&body), "{head}");
        head
    };
    // A message over gRPC has a byte for its compression and four for its length before it.
    assert!(ends(&grpc).ends_with(&format!("\n\0\0\0\0{}", char::from(u8::try_from(body.len()).unwrap()))));
    assert!(ends(&http).contains("\"x-mark\": \"seven\""));
}

#[test]
fn one_that_is_frozen_takes_what_came_once_it_thaws() {
    let collector = Collector::start(Protocol::Http).unwrap();
    collector.freeze();
    let head = "Host: a\r\nConnection: close\r\nContent-Type: application/x-protobuf";
    let body = request().encode_to_vec();
    let mut stream = TcpStream::connect_timeout(&collector.address(), Duration::from_secs(5)).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    stream
        .write_all(format!("POST /v1/metrics HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes())
        .unwrap();
    stream.write_all(&body).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(collector.inbox().batches().len(), 0);
    collector.thaw();
    let came = |inbox: &otlp_rig::Inbox| (inbox.batches().len() == 1).then_some(());
    collector.inbox().wait(Duration::from_secs(20), came).expect("it goes on");
}

#[test]
fn misbehaving_ones_refuse_stay_silent_or_cannot_be_connected_to() {
    let connect = |other: &Misbehaving| TcpStream::connect_timeout(&other.address(), Duration::from_millis(300));
    let absent = Misbehaving::absent().unwrap();
    assert_eq!(connect(&absent).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    let silent = Misbehaving::silent().unwrap();
    let mut stream = connect(&silent).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let deaf = Misbehaving::deaf().unwrap();
    assert_eq!(connect(&deaf).unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    let rude = Misbehaving::rude().unwrap();
    let mut stream = connect(&rude).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(rude.resets(), 1);
    let collector = absent.replaced(Protocol::Http).unwrap();
    let head = "Content-Type: application/x-protobuf";
    assert_eq!(post(&collector, "/v1/metrics", head, &request().encode_to_vec()), 200);
}
