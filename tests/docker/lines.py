"""The lines that README and docs/deploy.md tell people to type. What runs them here is what they run."""

UP = "docker compose up -d --wait"
DOWN = "docker compose down"
BUILD = "docker compose build"
REPLICAS = "docker compose -f deploy/compose.replicas.yaml"
REPLICAS_BUILD = f"{REPLICAS} build"
REPLICAS_UP = f"{REPLICAS} up -d --wait"
REPLICAS_DOWN = f"{REPLICAS} down"
REPLACE_FIRST = f"{REPLICAS} up -d --wait --no-deps --force-recreate front-1"
REPLACE_SECOND = f"{REPLICAS} up -d --wait --no-deps --force-recreate front-2"
RUN = (
    "docker run -d --name koegumi -p 127.0.0.1:50021:50021 -v koegumi:/var/lib/koegumi --stop-timeout 40"
    " --read-only --cap-drop ALL koegumi:cpu"
)

TESTED = frozenset({UP, DOWN, BUILD, REPLICAS_BUILD, REPLICAS_UP, REPLICAS_DOWN, REPLACE_FIRST, REPLACE_SECOND, RUN})
# They need a GPU, or build for one: make test-docker-cuda does that much of it.
GPU = frozenset(
    {
        "docker compose -f deploy/compose.gpu.yaml up -d --wait",
        "docker build --build-arg FLAVOUR=cuda -t koegumi:cuda .",
    }
)
