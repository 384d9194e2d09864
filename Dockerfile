# One image for every Lastgood process; docker-compose.yml says which command each runs.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /srv/lastgood

# Packages first: they change less often than the code.
COPY requirements/base.txt requirements/base.txt
RUN pip install --no-cache-dir --require-hashes -r requirements/base.txt

COPY . .
# Bytecode is made here once: nothing is written later, and each process would compile all files.
RUN python -m compileall -q apps config workers
RUN useradd --system --uid 10001 --home-dir /var/lib/lastgood --create-home lastgood
USER lastgood
ENV LASTGOOD_HOME=/var/lib/lastgood
VOLUME /var/lib/lastgood
EXPOSE 8000 8001

# Alone, the image runs everything, with embedded servers: docker run -p 8000:8000 -p 8001:8001 IMAGE
ENV LASTGOOD_BIND=0.0.0.0
CMD ["python", "-m", "workers.supervisor"]
