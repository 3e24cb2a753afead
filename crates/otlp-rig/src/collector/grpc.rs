//! OTLP over gRPC: the services of metrics and traces. They take gzip, as the specification asks of servers.

use std::io;
use std::sync::Arc;

use axum::middleware::from_fn_with_state;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use tokio::net::TcpListener;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use super::{LARGEST, raw};
use crate::inbox::{Inbox, Refusal};

pub(super) async fn serve(listener: TcpListener, inbox: Arc<Inbox>) -> io::Result<()> {
    let metrics = MetricsServiceServer::new(Into(Arc::clone(&inbox)));
    let traces = TraceServiceServer::new(Into(Arc::clone(&inbox)));
    let services = Routes::new(metrics.accept_compressed(CompressionEncoding::Gzip).max_decoding_message_size(LARGEST))
        .add_service(traces.accept_compressed(CompressionEncoding::Gzip).max_decoding_message_size(LARGEST));
    let kept = services.into_axum_router().layer(from_fn_with_state(inbox, raw::keep));
    let served =
        Server::builder().add_routes(Routes::from(kept)).serve_with_incoming(TcpIncoming::from(listener)).await;
    served.map_err(io::Error::other)
}

/// Puts what comes into an inbox.
struct Into(Arc<Inbox>);

fn status(refusal: Refusal) -> Status {
    match refusal {
        // One that an SDK tries again.
        Refusal::Full => Status::unavailable("the inbox is full"),
        Refusal::Exhausted => Status::resource_exhausted("too much to do"),
        Refusal::Broken => Status::internal("broken"),
    }
}

#[tonic::async_trait]
impl MetricsService for Into {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.0.put_metrics(request.into_inner()).map_err(status)?;
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl TraceService for Into {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.put_spans(request.into_inner()).map_err(status)?;
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}
