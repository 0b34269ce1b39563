# To be sourced. start PYTHON PORT ARGUMENTS: starts the mock server, waits until it listens and sets `server` to its process.
start() {
  "$1" "$(dirname "${BASH_SOURCE[0]}")/server.py" --port "$2" "${@:3}" & server=$!
  until (: < "/dev/tcp/127.0.0.1/$2") 2> /dev/null; do
    kill -0 "$server"
    sleep 0.2
  done
}
