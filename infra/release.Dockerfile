# The image of a release: the program of the archive and what it needs. scripts/release.sh lays out its files;
# infra/Dockerfile builds the same image from the source.
FROM scratch
ARG TARGETPLATFORM
COPY bin/release/image/etc/ /etc/
# Work that does not fit into memory goes to /tmp; /data is the root unless another is named.
COPY --chown=65532:65532 bin/release/image/writable/ /
COPY $TARGETPLATFORM/tiltyard /
USER 65532:65532
ENV TILTYARD_ROOT=/data TILTYARD_LISTEN=0.0.0.0:10024
EXPOSE 10024 10025
VOLUME /data
ENTRYPOINT ["/tiltyard", "serve"]
